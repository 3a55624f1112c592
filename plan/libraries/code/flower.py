from private import PHASES, loader_of, private, torch

STEPS, DATASET_SIZE, CLIENTS = 1, 1, 5
# ---
LEARNING_RATE = 0.5


def new_model():
    """Returns the model that is trained: put yours in its place."""
    return torch.nn.Linear(20, 2)


def records_of(client):
    """Returns a client's records, here drawn ones: put yours in its place."""
    draws = torch.Generator().manual_seed(client)
    features = torch.randn(DATASET_SIZE or 10_000, 20, generator=draws)
    return torch.utils.data.TensorDataset(features, (features.sum(dim=1) > 0).long())


def private_round(model, dataset):
    """Takes one noised step along one Poisson sample; STEPS of them are the plan."""
    model, optimizer, accountant = private(model, LEARNING_RATE)
    loader = loader_of(PHASES[0], dataset, optimizer, accountant)
    inputs, labels = next(iter(loader))
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()


def weights_of(model):
    """Returns the parameters as Flower sends them."""
    return [value.detach().cpu().numpy() for value in model.state_dict().values()]


def set_weights(model, weights):
    """Puts parameters as Flower sends them into the model."""
    names = model.state_dict().keys()
    model.load_state_dict({name: torch.tensor(w) for name, w in zip(names, weights)})


def client_app():
    """Returns the app of the clients."""
    from flwr.client import ClientApp, NumPyClient

    class Client(NumPyClient):
        def __init__(self, dataset):
            self.dataset = dataset

        def fit(self, parameters, config):
            model = new_model()
            set_weights(model, parameters)
            private_round(model, self.dataset)
            return weights_of(model), 1, {}  # all clients count the same

    def client_fn(context):
        return Client(records_of(int(context.node_config["partition-id"]))).to_client()

    return ClientApp(client_fn=client_fn)


def server_app():
    """Returns the app of the server, which never sees a record."""
    from flwr.common import ndarrays_to_parameters
    from flwr.server import ServerApp, ServerAppComponents, ServerConfig
    from flwr.server.strategy import FedAvg

    def server_fn(context):
        strategy = FedAvg(
            fraction_fit=1.0,
            fraction_evaluate=0.0,
            min_fit_clients=CLIENTS,
            min_available_clients=CLIENTS,
            initial_parameters=ndarrays_to_parameters(weights_of(new_model())),
        )
        return ServerAppComponents(
            strategy=strategy, config=ServerConfig(num_rounds=STEPS)
        )

    return ServerApp(server_fn=server_fn)


if __name__ == "__main__":
    from flwr.simulation import run_simulation

    run_simulation(server_app(), client_app(), num_supernodes=CLIENTS)
