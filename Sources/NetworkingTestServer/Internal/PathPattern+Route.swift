#if TestServer
import NetworkingCore

extension PathPattern {
    /// Creates the pattern of a route, in which `:name` may be empty and a trailing `*` may match nothing.
    init(route path: String) {
        precondition(path.hasPrefix("/"), "a path starts with / (is \(path))")
        self.init(path, matchesNothing: true)
        precondition(!hasInnerAsterisk, "* is the last segment of a path (is \(path))")
    }

    /// Returns the values of the parameters in a matching path, or `nil` if the path does not match.
    ///
    /// The segments of a trailing `*` are the value of that name.
    func parameters(in path: String) -> [String: String]? {
        guard path.hasPrefix("/"), let match = self.match(path, segments: Self.segments(of: path)) else { return nil }
        var parameters = match.parameters
        if let rest = match.rest { parameters["*"] = rest.joined(separator: "/") }
        return parameters
    }
}
#endif
