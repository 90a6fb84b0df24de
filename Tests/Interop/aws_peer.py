"""botocore as a signer: reads a request as JSON from each line, and prints its signatures.

A request has method, url, headers, body (text), service, region, date, and the credentials key,
secret and token. The answer has the Authorization field and the query of the presigned URL.
"""

import datetime
import json
import sys
import urllib.parse
from unittest import mock

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def sign(task: dict) -> dict:
    now = datetime.datetime.fromtimestamp(task["date"], datetime.timezone.utc).replace(tzinfo=None)
    credentials = Credentials(task["key"], task["secret"], task["token"])
    is_s3 = task["service"] == "s3"
    form = botocore.auth.S3SigV4Auth if is_s3 else botocore.auth.SigV4Auth
    query = botocore.auth.S3SigV4QueryAuth if is_s3 else botocore.auth.SigV4QueryAuth

    def request(body: str) -> AWSRequest:
        request = AWSRequest(task["method"], task["url"], data=body.encode())
        for name, value in task["headers"]:
            request.headers.add_header(name, value)
        return request

    with mock.patch("botocore.auth.get_current_datetime", lambda *_: now):
        signed = request(task["body"])
        form(credentials, task["service"], task["region"]).add_auth(signed)
        url = request("")
        query(credentials, task["service"], task["region"], expires=900).add_auth(url)
    return {
        "authorization": signed.headers["Authorization"],
        "query": sorted(urllib.parse.urlsplit(url.url).query.split("&")),
    }


for line in sys.stdin:
    print(json.dumps(sign(json.loads(line))))
