#!/bin/sh
# Lets only those pass whose token is good: reads the token from standard input and prints whom it is for.
#
#   JWKS=https://id.example/keys ISSUER=https://id.example AUDIENCE=deploy sh verify-with-jwks.sh < token
#
# JWKS is an https URL or a file. Exit codes: 0 the token is good, 1 it is not, 2 the keys could not be had. To tell why a token is
# not good, standard error has a line of JSON whose error.code is stable: expired, signatureInvalid, audienceMismatch, …
set -eu

claims=$(jwt verify --json --jwks "$JWKS" --iss "$ISSUER" --aud "$AUDIENCE" --require sub --max-lifetime 1d)
printf '%s' "$claims" | jq --raw-output .claims.sub
