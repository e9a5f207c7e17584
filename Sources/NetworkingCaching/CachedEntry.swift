public import FoundationForNetworking
public import HTTPTypes
import NetworkingCore

/// A response in a cache.
///
/// An entry is immutable. Validating or completing it creates another entry with the same id.
public struct CachedEntry: Sendable, Identifiable {
    /// The identifier among the entries of a key; entries of `cached` with the same ``varying`` have the same id.
    public var id: UUID { storage.id }
    /// The status and the header fields.
    public var response: HTTPResponse { storage.response }
    /// The body, or the stored part of it.
    public var body: Data { storage.body }
    /// The part of the representation that the body contains; `nil` for all of it.
    public var part: Part? { storage.part }
    /// The header fields of the request that selected the response, by their names in lower case.
    ///
    /// These are the fields that the response's Vary names, and in a private cache the credentials. A digest replaces
    /// each credential.
    public var varying: [String: String] { storage.varying }
    /// The date at which the request was sent.
    public var requestDate: Date { storage.requestDate }
    /// The date at which the response arrived.
    public var responseDate: Date { storage.responseDate }
    /// The approximate size of the entry in bytes: its body and its header fields.
    public var cost: Int { storage.cost }

    /// The groups of the response, as its field `Cache-Groups` names them (RFC 9875).
    ///
    /// At most 32, of at most 128 characters each. They are case-sensitive, and belong to the ``CacheKey/origin``.
    public var groups: Set<String> { facts.groups }

    /// The facts in the head of the response, parsed once.
    var facts: CacheFacts { storage.facts }

    private let storage: Storage

    /// A part of a representation.
    public struct Part: Sendable, Hashable, Codable {
        /// The range of the part's bytes in the whole representation.
        public var range: Range<Int>
        /// The length of the whole representation in bytes; `nil` if the server does not state it.
        public var length: Int?

        /// Creates a part.
        ///
        /// - Parameters:
        ///   - range: The range of the part's bytes in the whole representation.
        ///   - length: The length of the whole representation in bytes; `nil` if it is unknown.
        public init(range: Range<Int>, length: Int?) {
            self.range = range
            self.length = length
        }
    }

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - id: The identifier among the entries of a key.
    ///   - response: The status and the header fields.
    ///   - body: The body.
    ///   - part: The part of the representation that the body contains; `nil` for all of it.
    ///   - varying: The header fields of the request that the response's Vary names.
    ///   - requestDate: The date at which the request was sent.
    ///   - responseDate: The date at which the response arrived.
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
            // A slice would keep the whole buffer in memory.
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

    // A hit passes entries along several times, so an entry is a single reference.
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
    /// Returns whether two entries are equal in all their stored values.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.id == rhs.id && lhs.response == rhs.response && lhs.body == rhs.body && lhs.part == rhs.part
            && lhs.varying == rhs.varying && lhs.requestDate == rhs.requestDate && lhs.responseDate == rhs.responseDate
    }

    /// Hashes the id and the date of the response.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(responseDate)
    }
}

extension CachedEntry: CustomStringConvertible, CustomReflectable {
    /// The status and the number of bytes, without any content.
    public var description: String {
        "\(response.status.text), \(body.count) bytes"
    }

    /// A mirror without secrets, for dumps.
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
