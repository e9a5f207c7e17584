/// The address of a server.
public struct ValkeyAddress: Sendable, Hashable {
    enum Place: Sendable, Hashable {
        case host(String, port: Int)
        case unixSocket(String)
    }

    let place: Place

    /// A host and a port.
    ///
    /// - Parameters:
    ///   - name: The name of the host, or its IP address.
    ///   - port: The port.
    /// - Returns: The address.
    public static func host(_ name: String, port: Int = 6379) -> ValkeyAddress {
        ValkeyAddress(place: .host(name, port: port))
    }

    /// A socket in the file system of this machine.
    ///
    /// - Parameter path: The path of the socket.
    /// - Returns: The address.
    public static func unixSocket(_ path: String) -> ValkeyAddress {
        ValkeyAddress(place: .unixSocket(path))
    }
}
