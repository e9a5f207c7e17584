#if AsyncHTTPClient
import Foundation
import Networking
import NetworkingTestServer
import Testing

/// The certificates in `Tests/Certificates`, which `Tests/Certificates/make` describes and makes.
enum TestCertificates {
    /// A server's certificate and its key, as files.
    struct Identity: Sendable {
        let chain: String
        let key: String

        fileprivate init(_ name: String) {
            chain = TestCertificates.path(of: "\(name).pem")
            key = TestCertificates.path(of: "\(name).key")
        }

        /// For 127.0.0.1 and localhost, issued by ``authority``.
        static let trusted = Identity("trusted")
        /// For another host.
        static let elsewhere = Identity("elsewhere")
        /// Valid on one day of 2020.
        static let expired = Identity("expired")
        /// Valid from 2118.
        static let early = Identity("early")
        /// Issued by an authority that no test trusts.
        static let unknown = Identity("unknown")
        /// As ``trusted``, with another key.
        static let rotated = Identity("rotated")

        /// The certificate with a name in the folder.
        static func named(_ name: String) -> Identity {
            Identity(name)
        }
    }

    /// The certificate of the authority that tests trust.
    static let authority = path(of: "authority.pem")

    /// Returns the first certificate of a file.
    static func certificate(_ name: String) throws -> Certificate {
        try #require(try Certificate.contents(of: URL(filePath: path(of: "\(name).pem"))).first)
    }

    /// Returns the text of a file.
    static func text(_ name: String) throws -> String {
        try String(contentsOf: URL(filePath: path(of: name)), encoding: .utf8)
    }

    /// Returns the bytes of a file.
    static func data(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: path(of: name)))
    }

    #if SecureTestServer
    /// Returns the settings of a test server with a certificate of the folder, for some protocols or for all of them.
    static func tls(
        _ name: String,
        _ protocols: TestServer.TLS.ApplicationProtocol...,
        clientAuthority: String? = nil
    ) throws -> TestServer.TLS {
        TestServer.TLS(
            certificateChain: try text("\(name).pem"),
            privateKey: try text("\(name).key"),
            protocols: protocols.isEmpty ? [.http2, .http1] : protocols,
            clientAuthority: try clientAuthority.map { try text("\($0).pem") }
        )
    }
    #endif

    /// Returns some of the certificates of a file, in another order.
    static func chain(_ name: String, inOrder order: [Int]) throws -> String {
        let end = "-----END CERTIFICATE-----\n"
        let blocks = try text("\(name).pem").components(separatedBy: end)
        return order.map { blocks[$0] + end }.joined()
    }

    private static func path(of name: String) -> String {
        URL(filePath: #filePath).appending(path: "../../../Certificates/\(name)").standardized.path
    }
}
#endif
