# Constants of the plan, as an editor sees them; what is written has those of the plan.
import secrets

NOISE_MULTIPLIER, MAX_GRAD_NORM, EXPECTED_BATCH_SIZE = 1.0, 1.0, 1


def batches(count):
    """Yields the records of each round; see jaxpoisson.py and jaxallocation.py."""
    yield range(count)


# ---
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax_privacy  # noqa: E402
import numpy as np  # noqa: E402


def private_gradients(loss_of, features, labels):
    """Yields a function of the parameters for each round: the noised mean gradient of a batch.

    loss_of(params, features, labels) is the mean loss of a batch. Your optimizer stays, here
    one of optax:

        for gradient_at in private_gradients(loss_of, features, labels):
            updates, state = optimizer.update(gradient_at(params), state, params)
            params = optax.apply_updates(params, updates)

    Call each function once: a second gradient would share the noise of the first.
    """
    clipped_sum = jax_privacy.clipped_grad(
        loss_of, l2_clip_norm=MAX_GRAD_NORM, batch_argnums=(1, 2)
    )
    deviation = NOISE_MULTIPLIER * clipped_sum.l2_norm_bound
    # From the operating system. Of a number JAX takes 32 bits, which can all be tried.
    words = jnp.asarray(np.frombuffer(secrets.token_bytes(8), dtype=np.uint32))
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    for chosen in batches(len(features)):
        key, round_key = jax.random.split(key)
        called = []

        def gradient_at(params, chosen=chosen, round_key=round_key, called=called):
            if called:
                raise ValueError("a step has one gradient: a second one would share its noise")
            called.append(True)
            if len(chosen) == 0:  # a round without records releases its noise alone
                total = jax.tree.map(jnp.zeros_like, params)
            else:
                total = clipped_sum(params, features[chosen], labels[chosen])
            leaves, shape = jax.tree.flatten(total)
            keys = jax.random.split(round_key, len(leaves))
            noised = [
                leaf + deviation * jax.random.normal(k, leaf.shape, leaf.dtype)
                for leaf, k in zip(leaves, keys)
            ]
            return jax.tree.unflatten(shape, [leaf / EXPECTED_BATCH_SIZE for leaf in noised])

        yield gradient_at
