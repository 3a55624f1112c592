# Constants of the plan, as an editor sees them; what is written has those of the plan.
PHASES, MAX_GRAD_NORM, DELTA = ((1.0, 0.5, 1, 1),), 1.0, 1e-5
# ---
import dp_accounting  # noqa: E402
import numpy as np  # noqa: E402


def release():
    """Returns what all rounds release, for dp_accounting."""
    phases = []
    for noise_multiplier, sample_rate, _, steps in PHASES:
        noised = dp_accounting.GaussianDpEvent(noise_multiplier)
        sampled = dp_accounting.PoissonSampledDpEvent(sample_rate, noised)
        phases.append(dp_accounting.SelfComposedDpEvent(sampled, steps))
    return dp_accounting.ComposedDpEvent(phases)


def train(model, features, labels, loss_of, step_size):
    """Trains the model in place, and returns what was released as an event.

    loss_of(labels, predictions) is the mean loss of a batch, as tf.keras.losses has them.
    """
    import tensorflow as tf
    import tensorflow_privacy

    draws = np.random.default_rng()  # seeded by the operating system
    variables = model.trainable_variables
    others = [v for v in model.non_trainable_variables if v.dtype.is_floating]
    before = [v.numpy() for v in others]
    for noise_multiplier, sample_rate, _, steps in PHASES:
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
            for variable, update in zip(variables, noised):
                variable.assign_sub(step_size * update)
    return release()


if __name__ == "__main__":
    accountant = dp_accounting.pld.PLDAccountant()
    event = release()
    accountant.compose(event)
    print(event)
    print(f"epsilon = {accountant.get_epsilon(DELTA):.6g} at delta = {DELTA}, by dp_accounting")
