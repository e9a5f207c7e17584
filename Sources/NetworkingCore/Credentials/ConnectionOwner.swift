import FoundationForNetworking
import HTTPTypes

/// The credentials of a request, by which a transport keeps the connections of different users apart.
///
/// A transport that keeps its connections uses one only for requests with the same owner. Otherwise a server that
/// authenticates a connection, and not each request, takes a user for another one.
///
/// ```swift
/// let other = HTTPRequestData(authority: "api.example.com", path: "/me")
/// let mayShareConnection = ConnectionOwner(of: request) == ConnectionOwner(of: other)
/// ```
///
/// It contains secrets, so its description shows none of its contents.
public struct ConnectionOwner: Hashable, Sendable {
    private let credentials: [String]

    /// Reads the credentials of a request; `nil` if it has none.
    ///
    /// A signature differs in each request, so the fields that contain one are represented by the principal that signed
    /// the request. The cookies of a jar change as well, so they are represented by the identity of their session.
    ///
    /// - Parameter request: The request as it is sent.
    public init?(of request: HTTPRequestData) {
        let (signatures, session) = (request.signatures, request.cookieSession)
        var credentials = session.map { ["cookies: \($0)"] } ?? []
        for field in request.headerFields where field.isCredential && !signatures.fields.contains(field.name) {
            if session != nil, field.name == .cookie { continue }
            credentials.append("\(field.name.canonicalName): \(field.value)")
        }
        credentials += signatures.signers.map { "signed: \($0.id)" }
        let secretItems = request.box?.value.secretQueryItems ?? []
        if signatures.signers.isEmpty, !secretItems.isEmpty {
            for item in request.query.items where secretItems.contains(item.name.lowercased()) {
                credentials.append("query: \(item.name)=\(item.value ?? "")")
            }
        }
        guard !credentials.isEmpty else { return nil }
        self.credentials = credentials
    }
}

extension ConnectionOwner: RedactedDescription {}

extension HTTPRequestData {
    /// Records the principal that signed the request, because a transport cannot derive it from the signature, which
    /// differs in each request.
    ///
    /// - Parameters:
    ///   - principal: The principal that signed it.
    ///   - unsigned: The request before it was signed.
    package mutating func recordSignature(of principal: Principal, since unsigned: HTTPRequestData) {
        let changed = headerFields.filter { unsigned.headerFields[$0.name] != $0.value }.map(\.name)
        var signatures = signatures
        signatures.signers.append(principal)
        signatures.fields += changed
        self.signatures = signatures
    }

    /// Removes the signatures of the request, and the header fields that they set.
    mutating func removeSignatures() {
        let signatures = signatures
        guard !signatures.signers.isEmpty else { return }
        for name in signatures.fields {
            headerFields[name] = nil
        }
        self.signatures = Signatures()
    }

    /// The identity of the cookies of the request, which stays the same when their values change; `nil` if no jar has
    /// set them.
    package var cookieSession: String? {
        get { self[option: CookieSessionOption.self] }
        set { self[option: CookieSessionOption.self] = newValue }
    }

    fileprivate var signatures: Signatures {
        get { self[option: Signatures.self] }
        set { self[option: Signatures.self] = newValue }
    }

    private enum CookieSessionOption: RequestOption {
        static let defaultValue: String? = nil
        static let isSetByStack = true
    }
}

/// The principals that signed a request, and the header fields that their signatures set.
private struct Signatures: LibraryRequestOption {
    static let defaultValue = Signatures()

    var signers: [Principal] = []
    var fields: [HTTPField.Name] = []
}
