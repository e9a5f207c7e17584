public import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A response as a cache keeps it.
///
/// It never changes: what confirms or completes it makes another with its id.
public struct CachedEntry: Sendable, Identifiable {
    /// Tells the entries of a key apart; those of `cached` have the same when they have the same ``varying``.
    public var id: UUID { storage.id }
    /// The status and the header fields.
    public var response: HTTPResponse { storage.response }
    /// The body, or the part of it that is there.
    public var body: Data { storage.body }
    /// Which part of the representation the body is; nil for all of it.
    public var part: Part? { storage.part }
    /// The header fields of the request by which the response was chosen, by their names in lower case.
    ///
    /// They are the fields that the response's Vary names, and in a private cache the credentials. A digest stands in
    /// place of a credential.
    public var varying: [String: String] { storage.varying }
    /// When the request was sent.
    public var requestDate: Date { storage.requestDate }
    /// When the response came.
    public var responseDate: Date { storage.responseDate }
    /// How much room it takes, roughly: its body and its fields, in bytes.
    public var cost: Int { storage.cost }

    /// What its head says, read once.
    var facts: CacheFacts { storage.facts }

    private let storage: Storage

    /// A part of a representation.
    public struct Part: Sendable, Hashable, Codable {
        /// Its bytes.
        public var range: Range<Int>
        /// How many bytes there are altogether; nil when the server does not say.
        public var length: Int?

        /// Creates a part.
        ///
        /// - Parameters:
        ///   - range: Its bytes.
        ///   - length: How many there are altogether.
        public init(range: Range<Int>, length: Int?) {
            self.range = range
            self.length = length
        }
    }

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - id: Tells the entries of a key apart.
    ///   - response: The status and the header fields.
    ///   - body: The body.
    ///   - part: Which part of the representation the body is; nil for all of it.
    ///   - varying: The header fields of the request that the response's Vary names.
    ///   - requestDate: When the request was sent.
    ///   - responseDate: When the response came.
    public init(
        id: UUID = UUID(),
        response: HTTPResponse,
        body: Data,
        part: Part? = nil,
        varying: [String: String] = [:],
        requestDate: Date,
        responseDate: Date
    ) {
        storage = Storage(
            id: id,
            response: response,
            // A piece of something larger would keep all of that.
            body: body.startIndex == 0 ? body : Data(body),
            part: part,
            varying: varying,
            requestDate: requestDate,
            responseDate: responseDate,
            cost: response.headerFields.reduce(body.count + 256) {
                $0 + $1.name.rawName.utf8.count + $1.value.utf8.count
            },
            facts: CacheFacts(response, requestDate: requestDate, responseDate: responseDate)
        )
    }

    // One reference, since a hit passes entries along several times.
    private final class Storage: Sendable {
        let id: UUID
        let response: HTTPResponse
        let body: Data
        let part: Part?
        let varying: [String: String]
        let requestDate: Date
        let responseDate: Date
        let cost: Int
        let facts: CacheFacts

        init(
            id: UUID,
            response: HTTPResponse,
            body: Data,
            part: Part?,
            varying: [String: String],
            requestDate: Date,
            responseDate: Date,
            cost: Int,
            facts: CacheFacts
        ) {
            self.id = id
            self.response = response
            self.body = body
            self.part = part
            self.varying = varying
            self.requestDate = requestDate
            self.responseDate = responseDate
            self.cost = cost
            self.facts = facts
        }
    }
}

extension CachedEntry: Hashable {
    /// Entries are equal when all that is kept of them is.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.id == rhs.id && lhs.response == rhs.response && lhs.body == rhs.body && lhs.part == rhs.part
            && lhs.varying == rhs.varying && lhs.requestDate == rhs.requestDate && lhs.responseDate == rhs.responseDate
    }

    /// Hashes what tells it apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(responseDate)
    }
}

extension CachedEntry: CustomStringConvertible, CustomReflectable {
    /// The status and how many bytes there are, and nothing of what they say.
    public var description: String {
        "\(response.status.text), \(body.count) bytes"
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id, "status": "\(response.status)", "headerFields": HeaderFields(response.headerFields),
                "body": "\(body.count) bytes", "responseDate": responseDate,
            ]
        )
    }
}
