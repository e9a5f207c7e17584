import Foundation
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer

/// Connects to a server whose key matches the pins, and then with pins that do not match.
enum Pins {
    static func show() async throws {
        Terminal.title("17. A server with the wrong key gets nothing")
        Terminal.code(
            """
            let trust = ServerTrust(
                roots: .only(authority),
                pins: [HostPins("localhost", pins: [currentKey, backupKey])]
            )
            let transport = try AsyncHTTPClientTransport(trust: trust)
            """
        )
        let authority = try Certificate.pem(TestServer.TLS.loopbackAuthority)
        let key = try Certificate.pem(TestServer.TLS.loopback.certificateChain)[0].publicKeyPin
        let otherKey: CertificatePin = "sha256/QVerP+F6m0pjCdo7QrT3mKLfuvNF5cdtHFgESNvw6js="
        let backupKey: CertificatePin = "sha256/WvSQS24BGIjpxKY6boV1puY2fICzmLSPu9aY6MTFjt8="

        try await withTestServer(tls: .loopback) { server in
            server.route(.get, "/balance") { .text("42 euros over \($0.httpVersion)") }
            let pinned = try await balance(from: server, trusting: authority, pins: [key, backupKey])
            Terminal.say("The pin matches: \(try pinned.get().text ?? "").")

            let refused = try await balance(from: server, trusting: authority, pins: [otherKey, backupKey])
            guard case .failure(let error) = refused else { throw FalseClaim(claim: "the wrong pin is refused") }
            Terminal.say("It does not match: \(error.localizedDescription)")
            Terminal.say("For the developer: \(error.pinMismatch?.description ?? "\(error)")")
            try Tour.expect(error.pinMismatch != nil, "the error has the pins")
            try Tour.expect(server.requests.count == 1, "the request is not sent to the wrong server")
        }
    }

    private static func balance(
        from server: TestServer,
        trusting authority: [Certificate],
        pins: [CertificatePin]
    ) async throws -> Result<HTTPResponseData, NetworkingError> {
        let trust = ServerTrust(roots: .only(authority), pins: [HostPins("localhost", pins: pins)])
        let transport = try AsyncHTTPClientTransport(trust: trust)
        let network = transport.timeout(.seconds(10)).server(authority: "localhost:\(server.port)")
        let result: Result<HTTPResponseData, NetworkingError>
        do {
            result = .success(try await network.data(.get("balance")))
        } catch let error as NetworkingError {
            result = .failure(error)
        }
        try await transport.shutdown()
        return result
    }
}
