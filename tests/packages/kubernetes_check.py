"""usage: kubernetes_check.py FILE: validates each document strictly against its schema; prints what is wrong.

Runs on the Python of .cache/packages. Of a RayCluster, whose schema is the operator's, each pod template is validated as a Pod.
"""

import sys

import kubernetes_validate
import yaml

VERSIONS = ["1.27", kubernetes_validate.latest_version()]


def pods(cluster):
    """The pods of a RayCluster, as documents of their own."""
    groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"].get("workerGroupSpecs", [])]
    for group in groups:
        template = group["template"]
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]}


def main(path):
    checked, wrong = 0, 0
    with open(path) as file:
        documents = list(yaml.safe_load_all(file))
    for document in documents:
        for each in pods(document) if document["kind"] == "RayCluster" else [document]:
            for version in VERSIONS:
                try:
                    kubernetes_validate.validate(each, version, strict=True)
                except kubernetes_validate.ValidationError as error:
                    where = ".".join(map(str, error.absolute_path))
                    print(f"{document['kind']} {document['metadata']['name']}, {version}: {where}: {error.message}")
                    wrong += 1
            checked += 1
    print(f"{checked} documents, {wrong} errors")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
