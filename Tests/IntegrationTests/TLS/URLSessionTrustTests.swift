#if AsyncHTTPClient && URLSession && canImport(FoundationNetworking)
import Foundation
import Networking
import NetworkingTesting
import Testing

extension Loopback {
    /// ``ServerTrust`` over URLSession on Linux, which can enforce none of it.
    struct URLSessionTrustTests {
        @Test func transportRefusesWhatLibcurlCannotEnforce() throws {
            let pin: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
            let root = try TestCertificates.certificate("authority")
            for trust in [
                ServerTrust(pins: [HostPins("api.example.com", pins: [pin], mode: .reportOnly)]),
                ServerTrust(roots: .only([root])), ServerTrust(roots: .systemAnd([root])),
                ServerTrust(clientIdentities: [ClientIdentity(pkcs12: Data(), password: "", for: "api.example.com")]),
                ServerTrust(minimumTLSVersion: .v13), ServerTrust(applicationProtocols: .http1),
            ] {
                let error = #expect(throws: ServerTrustError.self) { try URLSessionTransport(trust: trust) }
                #expect(error?.reason.contains("AsyncHTTPClientTransport") == true)
            }
        }

        /// The platform's own trust needs no setting.
        @Test(arguments: ["1.1", "1.2", "1.3"])
        func defaultTrustAcceptsTLS12AndLater(version: String) async throws {
            try #require(TrustedAuthority.isAvailable, "This libcurl does not use an OpenSSL that can be called.")
            let options = SecureOrigin.Options(maximumVersion: version)
            try await SecureOrigin.run(with: .trusted, options: options) { origin in
                try await TrustedAuthority.trusting(TestCertificates.authority) {
                    let transport = try URLSessionTransport(configuration: .ephemeral, trust: ServerTrust())
                    let url = try #require(URL(string: "https://127.0.0.1:\(origin.port)"))
                    let network = transport.server(baseURL: url)
                    if version == "1.1" {
                        let error = await #expect(throws: NetworkingError.self) {
                            try await network.data(HTTPRequestData(path: "version"))
                        }
                        #expect(error?.kind == .tls, "\(String(reflecting: error))")
                        #expect(origin.requests.isEmpty)
                    } else {
                        let response = try await network.data(HTTPRequestData(path: "version"))
                        #expect(response.status == .ok)
                    }
                }
            }
        }

        @Test func diagnosticsOfTheDefaultTrustAreEmpty() throws {
            let transport = try URLSessionTransport(trust: ServerTrust(), maximumConnectionsPerHost: 2)
            #expect(transport.server(authority: "api.example.com").diagnostics.isEmpty)
        }
    }
}
#endif
