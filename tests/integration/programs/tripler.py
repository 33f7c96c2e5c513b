"""The application of a Serve config file: `import_path: tripler:app`. Lines that tests look for are marked."""

from ray import serve


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0})
class Tripler:
    def __call__(self, n):
        tripled = n * 3  # line: application
        return tripled


app = Tripler.bind()
