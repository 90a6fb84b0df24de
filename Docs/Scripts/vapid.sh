#!/bin/sh
# Wakes a browser by Web Push: a message without a payload to a subscription, signed with VAPID (RFC 8292).
#
#   CONTACT=mailto:ops@example.org KEY=vapid.pem sh vapid.sh https://push.example/subscription
#
# The key is made once, by: jwt keygen --alg ES256 --out vapid.pem. The page that subscribes needs the same public key as
# this script sends: applicationServerKey is what comes after k=.
set -eu
subscription=$1
origin=$(printf '%s' "$subscription" | cut -d/ -f1-3)

token=$(jwt sign --key "$KEY" --aud "$origin" --sub "$CONTACT" --expires-in 12h)
# The last 65 octets of an SPKI on P-256 are the point, uncompressed.
public=$(jwt key public "$KEY" --to der | tail -c 65 | base64 | tr -d '=\n' | tr '+/' '-_')
printf 'header = "Authorization: vapid t=%s, k=%s"\n' "$token" "$public" |
    curl --fail --silent --show-error --config - --request POST --header "TTL: 60" --header "Content-Length: 0" "$subscription"
