import HTTPTypes
public import NetworkingCore

/// The stored responses among which a cache looks up groups (RFC 9875): those of an origin, and in a private cache only
/// those of one user.
public struct CacheGroupScope: Sendable, Hashable {
    /// The scheme, host and port, as in ``CacheKey/origin``.
    public let origin: String
    /// The principals of the responses, without their cookies; `nil` for all principals.
    ///
    /// The element `nil` stands for responses without a principal.
    public let principals: Set<Principal?>?

    /// Creates a scope.
    ///
    /// - Parameters:
    ///   - origin: The origin, as in ``CacheKey/origin``.
    ///   - principals: The principals of the responses; `nil` for all principals.
    public init(origin: String, principals: Set<Principal?>? = nil) {
        self.origin = origin
        self.principals = principals.map { Set($0.map { $0?.withoutCookies }) }
    }

    /// Returns whether the responses of a key are in the scope.
    ///
    /// - Parameter key: The key.
    /// - Returns: `true` if its origin and its principal are those of the scope.
    public func contains(_ key: CacheKey) -> Bool {
        guard key.origin == origin else { return false }
        return principals.map { $0.contains(key.principal?.withoutCookies) } ?? true
    }
}

/// The names of groups in the fields `Cache-Groups` and `Cache-Group-Invalidation` (RFC 9875 sections 2 and 3).
enum CacheGroups {
    /// The maximum number of groups of a field; the RFC requires at least 32.
    static let maximumCount = 32
    /// The maximum length of a name; the RFC requires at least 32, which is shorter than a UUID.
    static let maximumLength = 128

    /// Returns the groups in a field: none if the field is malformed or has a member that is not a string.
    ///
    /// Parameters are ignored, and so are longer names and the groups after the first 32.
    static func names(_ field: HTTPField.Name, in response: HTTPResponse) -> Set<String> {
        guard response.headerFields.contains(field) else { return [] }
        let value = response.headerFields[values: field].joined(separator: ", ")
        guard let members = StructuredItem.list(value) else { return [] }
        var names: Set<String> = []
        for member in members {
            guard case .string(let name) = member.value else { return [] }
            guard names.count < maximumCount, name.utf8.count <= maximumLength else { continue }
            names.insert(name)
        }
        return names
    }
}

extension HTTPField.Name {
    // The names are valid, so the initializer returns a value.
    static let cacheGroups = HTTPField.Name("Cache-Groups")!
    static let cacheGroupInvalidation = HTTPField.Name("Cache-Group-Invalidation")!
    static let noVarySearch = HTTPField.Name("No-Vary-Search")!
}
