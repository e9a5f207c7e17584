// Compiled by .ci/checks/traits/check with the compiler's -verify: each use of a part without its trait is an error
// that names the trait, and there is no other error.

import Foundation
import Networking
import NetworkingAsyncHTTPClient
import NetworkingOAuth
import NetworkingSQLite
import NetworkingSigning
import NetworkingTelemetry
import NetworkingTestServer
import NetworkingValkey

func transports() {
    // expected-error@+1 {{needs the trait URLSession}}
    _ = URLSessionTransport().retry()
    // expected-error@+1 {{needs the trait AsyncHTTPClient}}
    _ = AsyncHTTPClientTransport().retry()
}

func stores(file: URL) {
    // expected-error@+1 {{needs the trait SQLite}}
    _ = SQLiteCacheStore(file: file)
    // expected-error@+1 {{needs the trait SQLite}}
    _ = SQLiteCookieStorage(file: file)
    // expected-error@+1 {{needs the trait SQLite}}
    _ = SQLiteOutboxStore(file: file)
    // expected-error@+1 {{needs the trait SQLite}}
    _ = SQLiteSessionStorage(file: file)
    // expected-error@+1 {{needs the trait SQLite}}
    _ = SQLiteRateLimit(file: file)
}

func signers(network: some NetworkingComponent) {
    // expected-error@+1 {{needs the trait Crypto}}
    _ = network.signed(with: DigestSigner(user: "emily", password: "secret"))
    // expected-error@+1 {{needs the trait Crypto}}
    _ = AWSCredentials(accessKeyID: "id", secretAccessKey: "secret")
}

func systems() {
    // expected-error@+1 {{needs the trait Crypto}}
    _ = OAuthSystem.provider(issuer: "https://login.example", clientID: "app")
    // expected-error@+1 {{needs the trait LoopbackRedirect}}
    _ = LoopbackUserAgent()
}

func telemetry(network: some NetworkingComponent) {
    // expected-error@+1 {{needs the trait Telemetry}}
    _ = network.telemetry()
}

func servers() async throws {
    // expected-error@+1 {{needs the trait TestServer}}
    try await withTestServer { _ in }
}

func engines() {
    // expected-error@+1 {{needs the trait Valkey}}
    _ = ValkeyClient(.host("127.0.0.1"))
    // expected-error@+1 {{needs the trait Valkey}}
    _ = ValkeySessionStorage(namespace: "shop")
    // expected-error@+1 {{needs the trait Valkey}}
    _ = ValkeyCacheStore(namespace: "shop")
}
