#if SQLite
import Foundation
import HTTPTypes
import Networking

@testable import NetworkingSQLite

extension CachedEntry {
    /// Returns a copy of the entry with some properties replaced.
    func with(
        response: HTTPResponse? = nil,
        body: Data? = nil,
        part: Part? = nil,
        varying: [String: String]? = nil
    ) -> CachedEntry {
        CachedEntry(
            id: id,
            response: response ?? self.response,
            body: body ?? self.body,
            part: part ?? self.part,
            varying: varying ?? self.varying,
            requestDate: requestDate,
            responseDate: responseDate
        )
    }

    /// Returns an entry with a body of known length.
    static func sample(_ text: String = "text", length: Int? = nil) -> CachedEntry {
        CachedEntry(
            response: HTTPResponse(
                status: .ok,
                headerFields: [.cacheControl: "max-age=60", .contentType: "text/plain"]
            ),
            body: length.map { Data(repeating: UInt8(text.utf8.count), count: $0) } ?? Data(text.utf8),
            requestDate: Date(timeIntervalSince1970: 1000.25),
            responseDate: Date(timeIntervalSince1970: 1001)
        )
    }
}

extension CacheKey {
    static func named(_ name: String, _ principal: Principal? = nil) -> CacheKey {
        CacheKey(principal: principal, url: "https://a.example/\(name)")
    }
}

extension SQLiteCacheStore {
    /// Returns the bodies stored for a key, in order.
    func texts(_ name: String) async throws -> [String] {
        try await entries(for: .named(name)).map { String(decoding: $0.body, as: UTF8.self) }.sorted()
    }
}
#endif
