#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Testing

/// The S3 of moto, which refuses requests with a wrong signature, in a process that ends with its suite.
///
/// The user with the key `AKIDEXAMPLE` and the role with the key `ASIDEXAMPLE` may do everything.
struct MotoServer: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Python.withServer(Self.program) { url in
            try await PythonServer.$url.withValue(url) { try await function() }
        }
    }

    /// It checks signatures only if requests without authentication are limited, here to none.
    private static let program = """
        import json, os, sys, threading
        from moto import settings
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.iam.models import iam_backends
        from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
        from moto.sts.models import sts_backends
        from werkzeug.serving import make_server

        iam, sts = iam_backends[DEFAULT_ACCOUNT_ID]["aws"], sts_backends[DEFAULT_ACCOUNT_ID]["aws"]
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.create_user("us-east-1", "emily")
        iam.put_user_policy("emily", "all", policy)
        key = iam.create_access_key("emily")
        key.access_key_id, key.secret_access_key = "AKIDEXAMPLE", "secret/key+1"
        role = iam.create_role("films", policy, "/", None, "", [], None)
        iam.put_role_policy("films", "all", policy)
        session = sts.assume_role("us-east-1", "emily", role.arn, None, 3600, None)
        session.access_key_id, session.secret_access_key, session.session_token = (
            "ASIDEXAMPLE", "secret/key+2", "token/+=1")

        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        app = DomainDispatcherApplication(create_backend_app)
        listener = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        print(listener.port, flush=True)
        signal.alarm(0)
        listener.serve_forever()
        """
}

extension Trait where Self == MotoServer {
    /// Runs the tests of a suite while moto runs.
    static var moto: MotoServer {
        MotoServer()
    }
}
#endif
