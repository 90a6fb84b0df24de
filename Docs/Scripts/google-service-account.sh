#!/bin/sh
# Gets an access token for a Google service account and prints it.
#
#   ACCOUNT=service-account.json SCOPE=https://www.googleapis.com/auth/devstorage.read_only sh google-service-account.sh
#
# ACCOUNT is the file that Google gave out; its private key goes through a pipe and never into another file:
# https://developers.google.com/identity/protocols/oauth2/service-account
set -eu
field() { jq --exit-status --raw-output ".$1" "$ACCOUNT"; }
endpoint=$(field token_uri)

assertion=$(field private_key | jwt sign --key - --alg RS256 --kid "$(field private_key_id)" \
    --iss "$(field client_email)" --aud "$endpoint" --claim "scope=\"$SCOPE\"" --expires-in 1h)
answer=$(printf '%s' "$assertion" | curl --fail --silent --show-error \
    --data-urlencode grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer --data-urlencode assertion@- "$endpoint")
printf '%s' "$answer" | jq --exit-status --raw-output .access_token
