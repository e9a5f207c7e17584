/// The names of credentials that a request is sent without, and the reason.
public struct WithheldCredentials: Sendable, Hashable {
    /// The reason why credentials are withheld.
    @nonexhaustive
    public enum Reason: String, Sendable, Hashable {
        /// The request does not go to the server of the credentials, which the nearest `server` modifier names.
        case otherServer
        /// The request goes over plain http to another machine.
        case plaintext
    }

    /// The names of header fields and query items.
    ///
    /// Empty if the modifier chooses the names only when it adds the credentials, as `authenticated` and `signed` do.
    public let names: [String]
    /// The reason why the request is sent without them.
    public let reason: Reason

    /// Creates the description of withheld credentials, for a modifier or a transport that withholds its own.
    ///
    /// - Parameters:
    ///   - names: The names of header fields and query items. No values.
    ///   - reason: The reason why the request is sent without them.
    public init(_ names: [String] = [], reason: Reason) {
        self.names = names
        self.reason = reason
    }
}

extension WithheldCredentials: CustomStringConvertible {
    /// The names and the reason in one sentence without a period: "withheld Cookie from plain http".
    public var description: String {
        let what = names.isEmpty ? "credentials" : names.map { PrintableText.singleLine($0) }.joined(separator: ", ")
        return switch reason {
        case .otherServer: "withheld \(what) from another server"
        case .plaintext: "withheld \(what) from plain http"
        }
    }
}

extension HTTPRequestData {
    /// The names of the credentials that the stack did not send, because they belong to another server.
    var withheldCredentials: [String] {
        get { self[.withheldCredentials] }
        set { self[.withheldCredentials] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let withheldCredentials = RequestOption<[String]>(
        "withheldCredentials",
        default: [],
        affects: .nothing,
        isSetByStack: true
    )
}
