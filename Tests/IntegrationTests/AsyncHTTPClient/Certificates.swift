#if AsyncHTTPClient
import Foundation

/// An authority and certificates that were made for this run of the tests, with Python's trustme.
struct Certificates: Sendable {
    /// A chain of certificates and a key, as files.
    struct Identity: Sendable {
        let chain: String
        let key: String
    }

    /// The certificate of the authority.
    let authority: String
    /// For 127.0.0.1 and localhost.
    let right: Identity
    /// For another host.
    let elsewhere: Identity
    /// Until yesterday.
    let expired: Identity

    static func areAvailable() async -> Bool {
        await Python.has("trustme")
    }

    /// Makes them in a directory.
    init(in directory: URL) async throws {
        let folder = directory.path
        _ = try await Python.run(
            """
            import datetime, trustme
            authority = trustme.CA()
            authority.cert_pem.write_to_path("\(folder)/authority.pem")
            yesterday = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
            for name, hosts, end in [
                ("right", ["127.0.0.1", "localhost"], None),
                ("elsewhere", ["elsewhere.example"], None),
                ("expired", ["127.0.0.1", "localhost"], yesterday),
            ]:
                identity = authority.issue_cert(*hosts, not_before=yesterday - datetime.timedelta(days=1), not_after=end)
                identity.private_key_pem.write_to_path(f"\(folder)/{name}.key")
                for pem in identity.cert_chain_pems:
                    pem.write_to_path(f"\(folder)/{name}.pem", append=True)
            """,
            on: Data()
        )
        func identity(_ name: String) -> Identity {
            Identity(chain: "\(folder)/\(name).pem", key: "\(folder)/\(name).key")
        }
        authority = "\(folder)/authority.pem"
        right = identity("right")
        elsewhere = identity("elsewhere")
        expired = identity("expired")
    }
}
#endif
