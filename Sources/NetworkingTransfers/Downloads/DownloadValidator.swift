import HTTPTypes
import NetworkingCore

extension DownloadRecord.Validator {
    /// Creates the strong validator of a response; `nil` if it has none (RFC 9110 sections 8.8.1 and 13.1.5).
    init?(_ head: HTTPResponse) {
        // A server that refuses ranges cannot resume a download.
        guard !head.refusesRanges else { return nil }
        if let tag = head.headerFields[singleton: .eTag] {
            // A weak tag can stay the same when bytes change, and the date is not more reliable than the tag.
            guard tag.hasPrefix("\""), tag.hasSuffix("\""), tag.utf8.count >= 2 else { return nil }
            self = .eTag(tag)
            return
        }
        guard let date = head.strongLastModified else { return nil }
        self = .lastModified(date)
    }

    /// The value of the `If-Range` field.
    var field: String {
        switch self {
        case .eTag(let value), .lastModified(let value): value
        }
    }

    /// Whether the value, which was read from a file, is valid in a header field.
    var isSendable: Bool {
        HTTPField.isValidValue(field)
    }

    /// Returns whether a response belongs to the same representation; `nil` if it has no such validator.
    func matches(_ head: HTTPResponse) -> Bool? {
        switch self {
        case .eTag(let tag): head.headerFields[singleton: .eTag].map { $0 == tag }
        case .lastModified(let date): head.headerFields[singleton: .lastModified].map { $0 == date }
        }
    }
}

extension HTTPResponse {
    /// Whether the server states that it does not support range requests.
    fileprivate var refusesRanges: Bool {
        headerFields[values: .acceptRanges]
            .contains { value in
                value.split(separator: ",").contains { $0.trimmed.lowercased() == "none" }
            }
    }
}
