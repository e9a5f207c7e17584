#if TestServer
import CLibraryForNetworking
import FlyingSocks

// `Socket` has methods of these names.
private let systemBind = bind
private let systemConnect = connect

extension Socket {
    // FlyingSocks extends `sockaddr_in` for this. The compiler does not always find that extension in a module that
    // imports SwiftNIO as well.

    /// Binds the socket to a port of 127.0.0.1, or to a free one for zero.
    func bindToLoopback(port: UInt16) throws {
        try withLoopbackAddress(port: port) { address, length in
            guard systemBind(file.rawValue, address, length) == 0 else { throw SocketError.makeFailed("Bind") }
        }
    }

    /// Starts to connect to a port of 127.0.0.1.
    func connectToLoopback(port: UInt16) throws {
        try withLoopbackAddress(port: port) { address, length in
            guard systemConnect(file.rawValue, address, length) == 0 else { throw SocketError.makeFailed("Connect") }
        }
    }

    private func withLoopbackAddress(
        port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Void
    ) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
#endif
