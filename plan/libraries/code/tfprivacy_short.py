# Constants of the plan, as an editor sees them; what is written has those of the plan.
PHASES, MAX_GRAD_NORM = ((1.0, 0.5, 1, 1),), 1.0
# ---
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow_privacy  # noqa: E402


def private_gradients(model, features, labels, loss_of):
    """Yields the noised mean gradients of a batch for each step.

    loss_of(labels, predictions) is the mean loss of a batch. Your optimizer of Keras stays:

        for gradients in private_gradients(model, features, labels, loss_of):
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    """
    draws = np.random.default_rng()  # seeded by the operating system
    variables = model.trainable_variables
    others = [v for v in model.non_trainable_variables if v.dtype.is_floating]
    before = [v.numpy() for v in others]
    for noise_multiplier, sample_rate, expected_batch_size, steps in PHASES:
        query = tensorflow_privacy.GaussianSumQuery(
            l2_norm_clip=MAX_GRAD_NORM, stddev=noise_multiplier * MAX_GRAD_NORM
        )
        state = query.initial_global_state()
        for _ in range(steps):
            params = query.derive_sample_params(state)
            total = query.initial_sample_state(variables)
            for i in np.flatnonzero(draws.random(len(features)) < sample_rate):
                with tf.GradientTape() as tape:
                    loss = loss_of(labels[i : i + 1], model(features[i : i + 1], training=True))
                total = query.accumulate_record(params, total, tape.gradient(loss, variables))
            if not all(np.array_equal(v.numpy(), was) for v, was in zip(others, before)):
                raise ValueError("the model keeps averages of records without noise: batch norm?")
            noised, state, _ = query.get_noised_result(total, state)
            yield [update / expected_batch_size for update in noised]
