#!/bin/sh
# Gets an installation token of a GitHub App and prints it.
#
#   APP_ID=12345 INSTALLATION_ID=678 KEY=app.private-key.pem sh github-app.sh
#
# The key is the one GitHub gave out, in PEM. GitHub accepts tokens that live for ten minutes at most, and wants them issued a
# minute ago, because clocks differ:
# https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
set -eu
api=${GITHUB_API_URL:-https://api.github.com}

token=$(jwt sign --key "$KEY" --alg RS256 --iss "$APP_ID" --issued-at -1m --expires-in 9m)
# The token goes through standard input: what stands on a command line, other users can see.
answer=$(printf 'header = "Authorization: Bearer %s"\n' "$token" | curl --fail --silent --show-error --config - \
    --request POST --header "Accept: application/vnd.github+json" \
    "$api/app/installations/$INSTALLATION_ID/access_tokens")
printf '%s' "$answer" | jq --exit-status --raw-output .token
