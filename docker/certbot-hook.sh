#!/bin/sh
# Gives a certificate that certbot has renewed to the container, which cannot follow the links of certbot's live directory.
# Set the host name and the folder of the project. Without a container write the service's user instead of 1000.
[ "${RENEWED_LINEAGE##*/}" = courier.example.com ] || exit 0 # certbot runs this for every certificate of the machine
cd /srv/callback-courier || exit
cp -L "$RENEWED_LINEAGE/fullchain.pem" "$RENEWED_LINEAGE/privkey.pem" certs/ && chown 1000 certs/privkey.pem
