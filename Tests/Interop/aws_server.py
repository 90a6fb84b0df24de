"""moto as a server of STS, S3 and SQS that checks signatures with botocore and roles with IAM.

    aws_server.py PORT FOLDER

Writes the keys of a user and the ARN of a role that the user may assume to FOLDER/aws-PORT-ready.
"""

import json
import pathlib
import sys

from moto import settings
from moto.iam.models import iam_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

ACCOUNT = "123456789012"
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def main() -> None:
    port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    backend = iam_backends[ACCOUNT]["aws"]
    user = backend.create_user(region_name="us-east-1", user_name="reports", path="/")
    backend.put_user_policy("reports", "everything", json.dumps(EVERYTHING))
    key = backend.create_access_key("reports")
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": [user.arn, f"arn:aws:sts::{ACCOUNT}:assumed-role/deploy/one"]},
                "Action": "sts:AssumeRole",
            },
        ],
    }
    role = backend.create_role(
        role_name="deploy",
        assume_role_policy_document=json.dumps(trust),
        path="/",
        permissions_boundary=None,
        description="",
        tags=[],
        max_session_duration="3600",
    )
    backend.put_role_policy("deploy", "everything", json.dumps(EVERYTHING))
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    ready = {"key": key.access_key_id, "secret": key.secret_access_key, "role": role.arn}
    part = folder / f"aws-{port}-part"
    part.write_text(json.dumps(ready))
    part.rename(folder / f"aws-{port}-ready")
    run_simple("127.0.0.1", port, DomainDispatcherApplication(create_backend_app), threaded=True)


main()
