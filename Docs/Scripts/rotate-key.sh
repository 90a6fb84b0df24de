#!/bin/sh
# Replaces a signing key: a new key signs from now on, and the old one is still accepted until the next rotation.
#
#   sh rotate-key.sh FOLDER
#
# FOLDER gets key.pem, the private key to sign with (put it into the CI's secrets: its kid is the first line printed), and
# keys.jwks, the public keys to publish: the new one and the one before. Run it as rarely as tokens live long at least, and publish
# keys.jwks before key.pem is used: verifiers that do not know the new key yet would refuse its tokens.
set -eu
cd "$1"
umask 077

jwt keygen --alg ES256 --out key.pem.new
kid=$(jwt key jwks add keys.jwks key.pem.new)
chmod 644 keys.jwks
mv key.pem.new key.pem
echo "$kid"

# All but the last two have had their time. A kid can begin with -.
jwt key jwks list keys.jwks | cut -f1 | head -n -2 | while read -r old; do
    jwt key jwks remove keys.jwks -- "$old"
done
