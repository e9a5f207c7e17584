import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DownloadRecord.Validator {
    /// The strong validator of a response; nil when it has none (RFC 9110 sections 8.8.1 and 13.1.5).
    init?(_ head: HTTPResponse) {
        // A server that says so has told that it cannot go on.
        guard !head.refusesRanges else { return nil }
        if let tag = head.headerFields[.eTag] {
            // A weak one stays the same when bytes change, and then the date says no more.
            guard tag.hasPrefix("\""), tag.hasSuffix("\""), tag.utf8.count >= 2 else { return nil }
            self = .eTag(tag)
            return
        }
        // A date is exact to the second; the file must have been as it is for one when it was sent.
        guard let text = head.headerFields[.lastModified], let modified = Date(httpDate: text),
            let date = head.headerFields[.date].flatMap({ Date(httpDate: $0) }), date.timeIntervalSince(modified) >= 1
        else { return nil }
        self = .lastModified(text)
    }

    /// The value of If-Range.
    var field: String {
        switch self {
        case .eTag(let value), .lastModified(let value): value
        }
    }

    /// Whether it can be a header field's value; it was read from a file.
    var isSendable: Bool {
        HTTPField.isValidValue(field)
    }

    /// Whether a response is of the same representation: nil when it does not say.
    func matches(_ head: HTTPResponse) -> Bool? {
        switch self {
        case .eTag(let tag): head.headerFields[.eTag].map { $0 == tag }
        case .lastModified(let date): head.headerFields[.lastModified].map { $0 == date }
        }
    }
}

extension HTTPResponse {
    /// Whether the server says that it answers no request for a part.
    fileprivate var refusesRanges: Bool {
        headerFields[values: .acceptRanges]
            .contains { value in
                value.split(separator: ",").contains { $0.trimmed.lowercased() == "none" }
            }
    }
}
