#if Crypto && URLSession && (os(Linux) || os(macOS))
import Foundation
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Digest authentication with an independent server, over the URLSession transport.
    @Suite(
        .requires(.httpbin),
        .httpBin,
        .timeLimit(.minutes(20))
    )
    struct DigestHTTPBinTests {
        private let recorder = RequestRecorder()
        private let url: URL

        init() throws {
            url = try #require(PythonServer.url)
        }

        private func network(_ signer: DigestSigner) -> some NetworkingComponent {
            URLSessionTransport(configuration: .ephemeral).timeout(.seconds(40)).recorded(by: recorder)
                .signed(with: signer)
                .server(baseURL: url)
        }

        private struct Login: Decodable {
            var authenticated: Bool
            var user: String
        }

        /// SHA-512 is not a registered algorithm.
        ///
        /// This server uses it anyway.
        @Test(arguments: ["auth", "auth-int", "none"], ["MD5", "SHA-256", "SHA-512"])
        func authenticatesWithEveryAlgorithm(quality: String, algorithm: String) async throws {
            for coversBody in [false, true] {
                let network = network(DigestSigner(user: "emily", password: "passw0rd", coversBody: coversBody))
                let request = HTTPRequestData(path: "digest-auth/\(quality)/emily/passw0rd/\(algorithm)")
                if coversBody, quality == "auth" {
                    let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
                    #expect(error?.kind == .unauthorized)
                    continue
                }
                let count = recorder.requests.count
                let login = try await network.request(request, as: Login.self)
                #expect(login.authenticated && login.user == "emily")
                #expect(recorder.requests.count == count + 2)
                // Further requests are sent with credentials at once.
                #expect(try await network.data(request).status == .ok)
                #expect(recorder.requests.count == count + 3)
                let field = try #require(recorder.requests.last?.headerFields[.authorization])
                let sent = AuthenticationChallenge.challenges(in: field).first
                #expect(sent?["nc"] == "00000002")
                #expect(sent?["algorithm"] == algorithm)
                // Without a fixed quality of protection, the server offers both.
                let chosen = quality == "none" ? (coversBody ? "auth-int" : "auth") : quality
                #expect(sent?["qop"] == chosen)
            }
        }

        @Test(arguments: ["MD5", "SHA-256"])
        func sendsAWrongPasswordOnce(algorithm: String) async throws {
            let request = HTTPRequestData(path: "digest-auth/auth/emily/password/\(algorithm)")
            let response = try await network(DigestSigner(user: "emily", password: "wrong")).data(request)
            #expect(response.status == .unauthorized)
            #expect(recorder.requests.count == 2)
        }

        /// The server keeps the remaining number of uses of a nonce in a cookie.
        @Test func replacesAStaleNonce() async throws {
            let network = network(DigestSigner(user: "emily", password: "password"))
            let request = HTTPRequestData(path: "digest-auth/auth/emily/password/SHA-256/2")
            for _ in 1...6 {
                #expect(try await network.data(request).status == .ok)
            }
            let nonces = recorder.requests.compactMap { $0.headerFields[.authorization] }
                .compactMap { AuthenticationChallenge.challenges(in: $0).first?["nonce"] }
            #expect(Set(nonces).count > 1)
        }

        @Test func authenticatesConcurrentRequests() async throws {
            let network = network(DigestSigner(user: "emily", password: "password"))
            let request = HTTPRequestData(path: "digest-auth/auth-int/emily/password/SHA-256")
            try await network.data(request)
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask { try await network.data(request).status }
                }
                for try await status in group {
                    #expect(status == .ok)
                }
            }
            #expect(recorder.requests.count == 22)
        }
    }
}
#endif
