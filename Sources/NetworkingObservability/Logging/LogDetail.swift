public import NetworkingCore

/// The amount of detail that `logged` writes about a request.
@nonexhaustive
public enum LogDetail: Sendable, Hashable {
    /// Writes nothing.
    ///
    /// It is not called `none`, because `request.logDetail = .none` would set the optional to `nil`, and the request
    /// would be logged.
    case off
    /// Writes a line at the start of a request and one at its end: method, URL, status, time and size.
    case basic
    /// Also writes the header fields.
    case headers
    /// Also writes the bodies, up to a number of bytes each; `prettyPrinted` breaks JSON and text into lines.
    case body(limit: Int = 4_096, prettyPrinted: Bool = false)
}

extension HTTPRequestData {
    /// The amount of detail that `logged` writes about this request; `nil` leaves it to the stack.
    public var logDetail: LogDetail? {
        get { self[.logDetail] }
        set { self[.logDetail] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/logDetail``.
    public static let logDetail = RequestOption<LogDetail?>("logDetail", default: nil, affects: .nothing)
}

extension LogDetail {
    var showsHeaders: Bool {
        switch self {
        case .off, .basic: false
        case .headers, .body: true
        }
    }

    /// The format of bodies in the log; `nil` if they are not logged.
    var bodyStyle: Redaction.BodyStyle? {
        switch self {
        case .off, .basic, .headers: nil
        case .body(let limit, let isPretty): Redaction.BodyStyle(limit: limit, isPretty: isPretty)
        }
    }
}

extension LogDetail: CustomStringConvertible {
    /// The detail in the format of an outline: `basic`, `body(limit: 4096)`.
    public var description: String {
        switch self {
        case .off: "off"
        case .basic: "basic"
        case .headers: "headers"
        case .body(let limit, let isPretty): "body(limit: \(limit)\(isPretty ? ", prettyPrinted" : ""))"
        }
    }
}
