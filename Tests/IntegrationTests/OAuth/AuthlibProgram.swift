#if os(Linux) || os(macOS)
/// Authlib implements the protocol.
///
/// The program keeps its data in memory.
///
/// `login_hint` names the user that signs in. Without it, the user declines. Secrets and tokens contain characters that
/// forms and header fields escape.
let authlibProgram = """
    import re, secrets, time
    import flask
    from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector, current_token
    from authlib.oauth2 import rfc6749, rfc6750, rfc7009, rfc7636, rfc8628, rfc9207

    ODD = "+ &=/:%"
    METHODS = ["none", "client_secret_basic", "client_secret_post"]

    class Client(rfc6749.ClientMixin):
        def __init__(self, id, secret, method):
            self.id, self.secret, self.method = id, secret, method
        def get_client_id(self): return self.id
        def get_default_redirect_uri(self): return None
        def get_allowed_scope(self, scope): return scope or ""
        def check_redirect_uri(self, uri): return re.fullmatch(r"http://127\\.0\\.0\\.1:\\d+/callback", uri)
        def check_client_secret(self, secret): return self.secret == secret
        def check_endpoint_auth_method(self, method, endpoint): return self.method == method
        def check_response_type(self, type): return type == "code"
        def check_grant_type(self, type): return True

    class Token(rfc6749.TokenMixin):
        def __init__(self, fields, client, user):
            self.fields, self.client, self.user = fields, client, user
            self.deadline = time.time() + fields["expires_in"]
            self.revoked = self.spent = False
        def check_client(self, client): return self.client is client
        def get_scope(self): return self.fields.get("scope", "")
        def get_expires_in(self): return self.fields["expires_in"]
        def is_expired(self): return time.time() > self.deadline
        def is_revoked(self): return self.revoked
        def get_user(self): return self.user
        def get_client(self): return self.client

    class Code(rfc6749.AuthorizationCodeMixin):
        def __init__(self, client, redirect_uri, scope, user, data):
            self.client, self.redirect_uri, self.scope, self.user = client, redirect_uri, scope, user
            self.code_challenge = data.get("code_challenge")
            self.code_challenge_method = data.get("code_challenge_method")
        def get_redirect_uri(self): return self.redirect_uri
        def get_scope(self): return self.scope

    clients = {client.id: client for client in [
        Client("tool", None, "none"),
        Client("service:1", "p" + ODD + "w", "client_secret_basic"),
        Client("service:2", "p" + ODD + "w", "client_secret_post"),
    ]}
    tokens, codes, devices, grants = [], {}, {}, {}

    def find(kind, text):
        return next((token for token in tokens if token.fields.get(kind) == text), None)

    class AuthorizationCodeGrant(rfc6749.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS
        def save_authorization_code(self, code, request):
            payload = request.payload
            codes[code] = Code(request.client, payload.redirect_uri, payload.scope, request.user, payload.data)
        def query_authorization_code(self, code, client):
            found = codes.get(code)
            return found if found and found.client is client else None
        def delete_authorization_code(self, code):
            codes.pop(next(text for text, item in codes.items() if item is code))
        def authenticate_user(self, code): return code.user

    class RefreshTokenGrant(rfc6749.RefreshTokenGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS
        INCLUDE_NEW_REFRESH_TOKEN = True
        def authenticate_refresh_token(self, text):
            token = find("refresh_token", text)
            return token if token and not token.spent and not token.revoked else None
        def authenticate_user(self, token): return token.user
        def revoke_old_credential(self, token): token.spent = token.revoked = True

    class ClientCredentialsGrant(rfc6749.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS[1:]

    class Devices(rfc8628.DeviceAuthorizationEndpoint):
        INTERVAL = 1
        def get_verification_uri(self): return flask.request.host_url + "activate"
        def save_device_credential(self, client_id, scope, data):
            devices[data["device_code"]] = rfc8628.DeviceCredentialDict(client_id=client_id, scope=scope, **data)

    class DeviceCodeGrant(rfc8628.DeviceCodeGrant):
        def query_device_credential(self, code): return devices.get(code)
        def query_user_grant(self, user_code):
            grant = grants.get(user_code)
            if grant and grant["polls"]:
                grant["polls"] -= 1
                return None
            return ("Emily", grant["agrees"]) if grant else None
        def should_slow_down(self, credential): return False

    class Revocation(rfc7009.RevocationEndpoint):
        CLIENT_AUTH_METHODS = METHODS
        def query_token(self, text, hint): return find("access_token", text) or find("refresh_token", text)
        def revoke_token(self, token, request): token.revoked = True

    class Issuer(rfc9207.IssuerParameter):
        def get_issuer(self): return flask.request.host_url.rstrip("/")

    class Validator(rfc6750.BearerTokenValidator):
        def authenticate_token(self, text): return find("access_token", text)

    app = flask.Flask("provider")
    app.config["OAUTH2_ACCESS_TOKEN_GENERATOR"] = lambda **_: "a+/=:%&" + secrets.token_urlsafe(16)
    app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = lambda **_: "r" + ODD + secrets.token_urlsafe(16)
    server = AuthorizationServer(
        app, clients.get, lambda token, request: tokens.append(Token(token, request.client, request.user))
    )
    server.register_grant(AuthorizationCodeGrant, [rfc7636.CodeChallenge(required=True)])
    server.register_grant(RefreshTokenGrant)
    server.register_grant(ClientCredentialsGrant)
    server.register_grant(DeviceCodeGrant)
    server.register_endpoint(Revocation)
    server.register_endpoint(Devices)
    server.register_extension(Issuer())
    protected = ResourceProtector()
    protected.register_token_validator(Validator())

    @app.get("/.well-known/oauth-authorization-server")
    def metadata():
        root = flask.request.host_url
        return {
            "issuer": root.rstrip("/"),
            "authorization_endpoint": root + "authorize",
            "token_endpoint": root + "token",
            "revocation_endpoint": root + "revoke",
            "device_authorization_endpoint": root + "device",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }

    @app.get("/authorize")
    def authorize():
        user = flask.request.args.get("login_hint")
        return server.create_authorization_response(grant_user=user, grant=server.get_consent_grant(end_user=user))

    @app.post("/token")
    def token(): return server.create_token_response()

    @app.post("/revoke")
    def revoke(): return server.create_endpoint_response("revocation")

    @app.post("/device")
    def device(): return server.create_endpoint_response("device_authorization")

    @app.post("/activate")
    def activate():
        form = flask.request.form
        grants[form["user_code"]] = {"polls": int(form["polls"]), "agrees": form["action"] == "agree"}
        return {}

    @app.get("/me")
    @protected()
    def me(): return {"name": current_token.user or current_token.client.id}

    @app.post("/expire")
    def expire():
        find("access_token", flask.request.form["token"]).deadline = 0
        return {}
    """
#endif
