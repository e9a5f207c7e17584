import HTTPTypes

/// The fields and query items with the credentials of a principal that a part of the stack has added, after those of
/// other parts.
final class OwnedCredentials: Sendable {
    private let principal: Principal
    let fields: [HTTPField.Name]
    let queryItems: [String]
    let earlier: OwnedCredentials?

    init(
        _ principal: Principal,
        _ fields: [HTTPField.Name],
        _ queryItems: [String],
        after earlier: OwnedCredentials?
    ) {
        (self.principal, self.fields, self.queryItems, self.earlier) = (principal, fields, queryItems, earlier)
    }

    /// The principals, in the order in which their credentials were added.
    var principals: [Principal] {
        (earlier?.principals ?? []) + [principal]
    }

    func contains(_ field: HTTPField.Name) -> Bool {
        fields.contains(field) || earlier?.contains(field) == true
    }

    func contains(queryItem name: String) -> Bool {
        queryItems.contains(name) || earlier?.contains(queryItem: name) == true
    }
}
