public import NetworkingCore

/// How much `logged` says about a request.
@nonexhaustive
public enum LogDetail: Sendable, Hashable {
    /// Nothing.
    ///
    /// It is not called `none`: `request.logDetail = .none` would be the optional's, and log the request.
    case off
    /// A line when it starts and one when it ends: method, URL, status, time and size.
    case basic
    /// The header fields besides.
    case headers
    /// The bodies besides, up to a number of bytes each; `prettyPrinted` breaks JSON and text into lines.
    case body(limit: Int = 4_096, prettyPrinted: Bool = false)
}

extension HTTPRequestData {
    /// How much `logged` says about this request; nil leaves it to the stack.
    public var logDetail: LogDetail? {
        get { self[option: LogDetailOption.self] }
        set { self[option: LogDetailOption.self] = newValue }
    }

    fileprivate enum LogDetailOption: RequestOption {
        static let name = "logDetail"
        static let defaultValue: LogDetail? = nil
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/logDetail``.
    public static let logDetail = RequestOptionKey(HTTPRequestData.LogDetailOption.self)
}

extension LogDetail {
    var showsHeaders: Bool {
        switch self {
        case .off, .basic: false
        case .headers, .body: true
        }
    }

    /// How bodies show, if they do.
    var bodyStyle: Redaction.BodyStyle? {
        switch self {
        case .off, .basic, .headers: nil
        case .body(let limit, let isPretty): Redaction.BodyStyle(limit: limit, isPretty: isPretty)
        }
    }
}

extension LogDetail: CustomStringConvertible {
    /// The detail as an outline shows it: `basic`, `body(limit: 4096)`.
    public var description: String {
        switch self {
        case .off: "off"
        case .basic: "basic"
        case .headers: "headers"
        case .body(let limit, let isPretty): "body(limit: \(limit)\(isPretty ? ", prettyPrinted" : ""))"
        }
    }
}
