/// The reasons for which a test of this package may be skipped.
///
/// The raw value is the sentence that the log prints. `.ci/checks/tests/Skips.txt` lists the sentences that are acceptable in CI,
/// which installs the software that the other reasons name.
package enum SkipReason: String, CaseIterable, Sendable {
    case authlib = "needs authlib, flask and waitress for the Python that TESTS_PYTHON names"
    case botocore = "needs botocore for the Python that TESTS_PYTHON names"
    case browser = "needs Chromium, and playwright and axe-playwright-python for the Python that TESTS_PYTHON names"
    case cacheTests = "needs cache-tests.json in the folder that NETWORKING_VECTORS names"
    case compiler = "needs a C compiler, cc, on the PATH"
    case compressionLibraries = "needs libbrotlidec.so.1 and libzstd.so.1"
    case curl = "needs /usr/bin/curl"
    case haralyzer = "needs haralyzer for the Python that TESTS_PYTHON names"
    case harSchema =
        "needs node-har-schema, and jsonschema, rfc3339-validator and rfc3986-validator for the Python that TESTS_PYTHON names"
    case httpbin = "needs httpbin and waitress for the Python that TESTS_PYTHON names"
    case messageSignatures = "needs http-message-signatures for the Python that TESTS_PYTHON names"
    case multipart = "needs python-multipart for the Python that TESTS_PYTHON names"
    case networkNamespaces = "needs network namespaces: unshare, ip, and the permission to use them"
    case oidcProvider = "needs oidc-provider-mock and waitress for the Python that TESTS_PYTHON names"
    case peers = "needs TEST_PEERS, and nginx, apache2, haproxy, lighttpd, caddy, node, hypercorn, gunicorn or moto"
    case publicSuites = "needs the public suites in the folder that NETWORKING_VECTORS names"
    case python = "needs Python 3"
    case sharedMemory = "needs a second volume at /dev/shm"
    case unprivilegedUser = "needs a user whom file permissions restrict, so not root"
    case valkey = "needs valkey-server or redis-server on the PATH"
    case valkeyTLS = "needs valkey-server or redis-server with TLS"
}
