# Constants of the plan, as an editor sees them; what is written has those of the plan.
import secrets

PHASES, MAX_GRAD_NORM, DATASET_SIZE = ((1.0, 0.5, 1, 1),), 1.0, 1


def rounds(count):
    """Yields noise, size and records of each round; see jaxpoisson.py and jaxallocation.py."""
    yield 1.0, 1, range(count)


# ---
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax_privacy  # noqa: E402
import numpy as np  # noqa: E402


def train(params, features, labels, loss_of, step_size):
    """Returns the trained parameters.

    loss_of(params, features, labels) is the mean loss of a batch.
    """
    clipped_sum = jax_privacy.clipped_grad(
        loss_of, l2_clip_norm=MAX_GRAD_NORM, batch_argnums=(1, 2)
    )
    # From the operating system. Of a number JAX takes 32 bits, which can all be tried.
    words = jnp.asarray(np.frombuffer(secrets.token_bytes(8), dtype=np.uint32))
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    for noise_multiplier, _, chosen in rounds(len(features)):
        deviation = noise_multiplier * clipped_sum.l2_norm_bound
        key, round_key = jax.random.split(key)
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
        update = jax.tree.unflatten(shape, noised)
        params = jax.tree.map(lambda p, u: p - step_size * u, params, update)
    return params


if __name__ == "__main__":  # a linear model of drawn data: put yours in its place
    count = DATASET_SIZE or 10_000
    drawn = jax.random.normal(jax.random.key(0), (count, 20))
    signs = jnp.where(drawn.sum(axis=1) > 0, 1.0, -1.0)

    def logistic(params, x, y):
        return jnp.mean(jnp.log1p(jnp.exp(-y * (x @ params))))

    step_size = 0.5 / PHASES[0][2]  # over the expected batch size
    trained = train(jnp.zeros(20), drawn, signs, logistic, step_size)
    print(trained)
