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
    /// Credentials of a known principal are represented by the principal, because their values change: a token with
    /// each refresh, and a signature with each request. The cookies of a jar change as well, so they are represented by
    /// the identity of their session. A part of the stack states the principal with
    /// ``HTTPRequestData/recordCredentials(of:since:)``.
    ///
    /// - Parameter request: The request as it is sent.
    public init?(of request: HTTPRequestData) {
        let (owned, session) = (request.passage?.value.credentials, request.cookieSession)
        var credentials = session.map { ["cookies: \($0)"] } ?? []
        for field in request.headerFields where field.isCredential && owned?.owns(field.name) != true {
            if session != nil, field.name == .cookie { continue }
            credentials.append("\(field.name.canonicalName): \(field.value)")
        }
        if let owned {
            credentials += owned.principals.map { "principal: \($0.id)" }
        }
        let secretItems = request.box?.value.secretQueryItems ?? []
        if !secretItems.isEmpty {
            for item in request.query.items where secretItems.contains(item.name.lowercased()) {
                guard owned?.owns(queryItem: item.name) != true else { continue }
                credentials.append("query: \(item.name)=\(item.value ?? "")")
            }
        }
        guard !credentials.isEmpty else { return nil }
        self.credentials = credentials
    }
}

extension ConnectionOwner: RedactedDescription {}

extension HTTPRequestData {
    /// Records the principal that the credentials of a request belong to, so that a transport can keep the connections
    /// of this principal when the credentials change.
    ///
    /// A part of the stack calls it after it has set credentials:
    ///
    /// ```swift
    /// let bare = request
    /// request.setCredential(token, for: .authorization)
    /// request.recordCredentials(of: Principal(id: "emily"), since: bare)
    /// ```
    ///
    /// - Parameters:
    ///   - principal: The principal.
    ///   - former: The request before the credentials were set. Each header field and each secret query item that
    ///     differs belongs to the principal.
    public mutating func recordCredentials(of principal: Principal, since former: HTTPRequestData) {
        let earlier = passage?.value.credentials
        var (fields, queryItems): ([HTTPField.Name], [String]) = ([], [])
        let formerFields = former.headerFields.httpFields
        for (index, field) in headerFields.httpFields.enumerated() {
            // Most fields are where they were.
            if index < formerFields.count, formerFields[index] == field { continue }
            if !formerFields.contains(field), earlier?.owns(field.name) != true {
                fields.append(field.name)
            }
        }
        if target != former.target {
            let formerItems = former.query.items
            let secretItems = box?.value.secretQueryItems ?? []
            queryItems = query.items.filter { secretItems.contains($0.name.lowercased()) }
                .filter { !formerItems.contains($0) }.map(\.name)
        }
        openPassage.credentials = StackCredentials(of: principal, fields, queryItems, after: earlier)
    }

    /// Whether a part further out has recorded the principal of the request.
    package var hasRecordedPrincipal: Bool {
        passage?.value.credentials?.principals.isEmpty == false
    }

    /// The identity of the cookies of the request, which stays the same when their values change; `nil` if no jar has
    /// set them.
    package var cookieSession: String? {
        get { self[.cookieSession] }
        set { self[.cookieSession] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let cookieSession = RequestOption<String?>(
        "cookieSession",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}
