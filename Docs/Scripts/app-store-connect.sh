#!/bin/sh
# Asks the App Store Connect API for something and prints the answer.
#
#   ISSUER_ID=57246542-… KEY_ID=2X9R4HXF34 KEY=AuthKey_2X9R4HXF34.p8 sh app-store-connect.sh /v1/apps
#
# Apple accepts tokens that live for twenty minutes at most:
# https://developer.apple.com/documentation/appstoreconnectapi/generating-tokens-for-api-requests
set -eu
api=${APP_STORE_CONNECT_URL:-https://api.appstoreconnect.apple.com}

token=$(jwt sign --key "$KEY" --kid "$KEY_ID" --iss "$ISSUER_ID" --aud appstoreconnect-v1 --expires-in 15m)
printf 'header = "Authorization: Bearer %s"\n' "$token" | curl --fail --silent --show-error --config - "$api$1"
