// Compiled by Tests/Traits/check with the compiler's -verify: each use of a part whose trait is off is an error that names the
// trait, and nothing else is.

import Foundation
import Networking
import NetworkingAsyncHTTPClient
import NetworkingOAuth
import NetworkingSQLite
import NetworkingSigning
import NetworkingTelemetry
import NetworkingTestServer

func transports() {
    _ = URLSessionTransport().retry()  // expected-error {{needs the trait URLSession}}
    _ = AsyncHTTPClientTransport().retry()  // expected-error {{needs the trait AsyncHTTPClient}}
}

func caches(file: URL) {
    _ = SQLiteCacheStore(file: file)  // expected-error {{needs the trait SQLite}}
}

func signers(network: some NetworkingComponent) {
    _ = network.signed(with: DigestSigner(user: "emily", password: "secret"))  // expected-error {{needs the trait Crypto}}
    _ = AWSCredentials(accessKeyID: "id", secretAccessKey: "secret")  // expected-error {{needs the trait Crypto}}
}

func systems() {
    _ = OAuthSystem.provider(issuer: "https://login.example", clientID: "app")  // expected-error {{needs the trait Crypto}}
    _ = LoopbackUserAgent()  // expected-error {{needs the trait LoopbackRedirect}}
}

func telemetry(network: some NetworkingComponent) {
    _ = network.telemetry()  // expected-error {{needs the trait Telemetry}}
}

func servers() async throws {
    try await withTestServer { _ in }  // expected-error {{needs the trait TestServer}}
}
