import HTTPTypes
import Networking
import NetworkingSigning
import Synchronization

/// A signer that signs with consecutive numbers.
///
/// It records the requests that it signs.
final class NumberingSigner: RequestSigner {
    typealias Verdict = @Sendable (HTTPResponseData) async throws -> Bool

    let keyID: String
    let scheme: String?
    private let seen = Mutex<[HTTPRequestData]>([])
    private let before: @Sendable (HTTPRequestData) async throws -> Void
    private let verdict: Verdict

    init(
        keyID: String = "key",
        scheme: String? = nil,
        before: @escaping @Sendable (HTTPRequestData) async throws -> Void = { _ in },
        again: @escaping Verdict = { _ in false }
    ) {
        self.keyID = keyID
        self.scheme = scheme
        self.before = before
        verdict = again
    }

    /// The requests before signing.
    var requests: [HTTPRequestData] {
        seen.withLock { $0 }
    }

    func sign(_ request: inout HTTPRequestData) async throws {
        try await before(request)
        let number = seen.withLock { seen in
            seen.append(request)
            return seen.count
        }
        if let scheme {
            request.setCredential("\(scheme) secret-\(number)", for: .authorization)
        } else {
            request.setCredential("secret-\(number)", for: .xSignature)
        }
    }

    func signsAgain(after response: HTTPResponseData) async throws -> Bool {
        try await verdict(response)
    }
}

extension HTTPField.Name {
    static let xSignature = HTTPField.Name("X-Signature")!
}

extension MockTransport {
    /// The signature of each request.
    var signatures: [String?] {
        requests.map { $0.headerFields[.xSignature] }
    }

    /// The Authorization field of each request.
    var authorizations: [String?] {
        requests.map { $0.headerFields[.authorization] }
    }
}
