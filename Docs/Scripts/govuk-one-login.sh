#!/bin/sh
# Exchanges an authorization code at GOV.UK One Login, the client proving itself with a signed assertion, and prints the answer.
#
#   CLIENT_ID=… CODE=… REDIRECT_URI=https://service.example/callback KEY=key.pem sh govuk-one-login.sh
#
# The assertion (private_key_jwt) is for the token endpoint alone, lives for five minutes, and is used once:
# https://docs.sign-in.service.gov.uk/integrate-with-integration-environment/authenticate-your-user/
set -eu
endpoint=${TOKEN_ENDPOINT:-https://oidc.integration.account.gov.uk/token}

assertion=$(jwt sign --key "$KEY" --alg "${ALG:-RS256}" --iss "$CLIENT_ID" --sub "$CLIENT_ID" --aud "$endpoint" \
    --jti auto --expires-in 5m)
# Secrets go through standard input: what stands on a command line, other users can see.
printf '%s' "$assertion" | curl --fail --silent --show-error \
    --data grant_type=authorization_code --data-urlencode "code=$CODE" --data-urlencode "redirect_uri=$REDIRECT_URI" \
    --data-urlencode client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer \
    --data-urlencode client_assertion@- "$endpoint"
