/// The body of a response, for tests of decoding.
struct TaggedUser: Codable, Equatable, Sendable {
    var name: String
    var tags: [Tag] = []

    struct Tag: Codable, Equatable, Sendable {
        var id: Int
    }
}
