import HTTPTypes

/// The fields and query items with credentials that a part of the stack has added, after those of other parts.
final class StackCredentials: Sendable {
    /// The principal that the credentials belong to; `nil` if the part has not recorded it.
    private let principal: Principal?
    let fields: [HTTPField.Name]
    let queryItems: [String]
    let earlier: StackCredentials?

    init(
        of principal: Principal?,
        _ fields: [HTTPField.Name],
        _ queryItems: [String],
        after earlier: StackCredentials?
    ) {
        (self.principal, self.fields, self.queryItems, self.earlier) = (principal, fields, queryItems, earlier)
    }

    /// The known principals, in the order in which their credentials were added.
    var principals: [Principal] {
        (earlier?.principals ?? []) + (principal.map { [$0] } ?? [])
    }

    /// Returns whether a field belongs to a known principal.
    func owns(_ field: HTTPField.Name) -> Bool {
        principal != nil && fields.contains(field) || earlier?.owns(field) == true
    }

    /// Returns whether a query item belongs to a known principal.
    func owns(queryItem name: String) -> Bool {
        principal != nil && queryItems.contains(name) || earlier?.owns(queryItem: name) == true
    }
}
