# Constants of the plan, as an editor sees them; what is written has those of the plan.
import secrets

MAX_GRAD_NORM = 1.0


def rounds(count):
    """Yields noise, size and records of each round; see jaxpoisson.py and jaxallocation.py."""
    yield 1.0, 1, range(count)


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
    # From the operating system. Of a number JAX takes 32 bits, which can all be tried.
    words = jnp.asarray(np.frombuffer(secrets.token_bytes(8), dtype=np.uint32))
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    for noise_multiplier, expected_batch_size, chosen in rounds(len(features)):
        key, round_key = jax.random.split(key)
        of_round = (noise_multiplier, expected_batch_size, chosen, round_key, [])

        def gradient_at(params, of_round=of_round):
            noise_multiplier, size, chosen, round_key, called = of_round
            if called:
                raise ValueError("a step has one gradient: a second one would share its noise")
            called.append(True)
            if len(chosen) == 0:  # a round without records releases its noise alone
                total = jax.tree.map(jnp.zeros_like, params)
            else:
                total = clipped_sum(params, features[chosen], labels[chosen])
            leaves, shape = jax.tree.flatten(total)
            keys = jax.random.split(round_key, len(leaves))
            deviation = noise_multiplier * clipped_sum.l2_norm_bound
            noised = [
                leaf + deviation * jax.random.normal(k, leaf.shape, leaf.dtype)
                for leaf, k in zip(leaves, keys)
            ]
            return jax.tree.unflatten(shape, [leaf / size for leaf in noised])

        yield gradient_at
