"""An authorization server and an API on django-oauth-toolkit, for the OAuth2 interop tests.

django_server.py PORT FOLDER [GRACE]: listens on 127.0.0.1:PORT. Its database is a file in FOLDER.
Refresh tokens rotate, and the use of an old one revokes all its successors, except within GRACE seconds
if the new one is unused. `/test/refresh-token` issues a refresh token as if a user had granted it, and
`/login` signs in a user.
"""

import datetime
import logging
import pathlib
import secrets
import subprocess
import sys
import uuid

import django
from django.conf import settings
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
issuer = f"http://127.0.0.1:{port}"
secret = "s3cret:/+=& %7E of a client 0123456789"
key = subprocess.run(
    ["openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    check=True, capture_output=True, text=True,
).stdout

settings.configure(
    SECRET_KEY=secrets.token_hex(),
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={"default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": folder / f"django-{port}.sqlite",
        "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE"},
    }},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }],
    LOGIN_URL="/login",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    OAUTH2_PROVIDER={
        "SCOPES": {s: s for s in ("openid", "profile", "email", "read", "write", "introspection")},
        "DEFAULT_SCOPES": ["read"],
        "ACCESS_TOKEN_EXPIRE_SECONDS": 300,
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": int(sys.argv[3]) if len(sys.argv) > 3 else 0,
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": issuer,
        "OIDC_RSA_PRIVATE_KEY": key,
        "OAUTH_DEVICE_VERIFICATION_URI": f"{issuer}/device/",
        "DCR_ENABLED": True,
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "OAUTH2_PROTECTED_RESOURCE_IDENTIFIER": f"{issuer}/api",
        "OAUTH2_PROTECTED_RESOURCE_AUTHORIZATION_SERVERS": [issuer],
        "ERROR_RESPONSE_WITH_SCOPES": True,
    },
)
django.setup()

from django.contrib.auth import get_user_model, login  # noqa: E402
from django.http import HttpResponse, JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from oauth2_provider.models import AccessToken, Application, DeviceGrant, RefreshToken  # noqa: E402
from oauth2_provider.views.generic import ScopedProtectedResourceMetadataView  # noqa: E402


class API(ScopedProtectedResourceMetadataView):
    """A resource that requires a token with the scope `write`."""

    required_scopes = ["write"]

    def get(self, request, *args, **kwargs):
        return JsonResponse({"subject": request.user.username if request.user else None})


@csrf_exempt
def refresh_token(request):
    application = Application.objects.get(client_id=request.POST["client_id"])
    user = get_user_model().objects.get(username="ada")
    access = AccessToken.objects.create(
        user=user, application=application, token=secrets.token_urlsafe(), scope=request.POST["scope"],
        expires=timezone.now() + datetime.timedelta(seconds=300),
    )
    found = RefreshToken.objects.create(
        user=user, application=application, access_token=access, token=secrets.token_urlsafe(), token_family=uuid.uuid4(),
    )
    return JsonResponse({"refresh_token": found.token})


def sign_in(request):
    login(request, get_user_model().objects.get(username="ada"))
    return HttpResponse("signed in")


@csrf_exempt
def expire(request):
    found = AccessToken.objects.filter(token=request.POST["token"])
    return JsonResponse({"expired": found.update(expires=timezone.now() - datetime.timedelta(hours=1))})


@csrf_exempt
def device(request):
    found = DeviceGrant.objects.get(user_code=request.POST["user_code"])
    found.user = get_user_model().objects.get(username="ada")
    found.status = found.AUTHORIZED if request.POST["allowed"] == "yes" else found.DENIED
    found.save()
    return JsonResponse({})


urlpatterns = [
    path("test/refresh-token", refresh_token),
    path("test/expire", expire),
    path("test/device", device),
    path("login", sign_in),
    path("api", API.as_view()),
    path("", include("oauth2_provider.urls", namespace="oauth2_provider")),
]

call_command("migrate", verbosity=0)
get_user_model().objects.create_user("ada", "ada@example.com", first_name="Ada")
grants = {
    "code": Application.GRANT_AUTHORIZATION_CODE,
    "service": Application.GRANT_CLIENT_CREDENTIALS,
    "device": Application.GRANT_DEVICE_CODE,
    "none": Application.GRANT_AUTHORIZATION_CODE,
}
for name, grant in grants.items():
    Application.objects.create(
        name=name, client_id=name, client_secret=secret, authorization_grant_type=grant,
        client_type=Application.CLIENT_PUBLIC if name in ("device", "none") else Application.CLIENT_CONFIDENTIAL,
        redirect_uris="https://client.example/callback http://127.0.0.1:9/callback", algorithm=Application.RS256_ALGORITHM,
        skip_authorization=True,
    )


class Handler(WSGIRequestHandler):
    def log_message(self, format, *args):
        pass


logging.disable(logging.ERROR)
server = ThreadedWSGIServer(("127.0.0.1", port), Handler)
server.set_app(get_wsgi_application())
server.serve_forever()
