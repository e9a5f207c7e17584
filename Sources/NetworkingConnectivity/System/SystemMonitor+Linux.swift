#if canImport(Glibc) && !canImport(Network)
import CLibraryForNetworking
import Dispatch
import FoundationForNetworking
import NetworkingCore
import Synchronization

/// An observer of the interfaces and default routes of the system, through a netlink socket.
///
/// When an interface goes down, the kernel removes its routes without sending a message for each of them. A message
/// therefore only causes the lists to be read again. Everything happens on a queue of the monitor, and no call blocks.
final class SystemMonitor: Sendable {
    private static let maximumFailures = 10

    private let queue = DispatchQueue(label: "Networking.SystemMonitor")
    private let state: Mutex<State>
    private let onStatus: @Sendable (ConnectivityStatus) -> Void
    private let onSilence: @Sendable () -> Void

    /// Starts to observe.
    ///
    /// - Parameters:
    ///   - onStatus: Receives each status, on the queue of the monitor.
    ///   - onSilence: Called at once if the system forbids the socket, and otherwise two seconds after the start, even
    ///     if a status was reported before.
    init(
        onStatus: @escaping @Sendable (ConnectivityStatus) -> Void,
        onSilence: @escaping @Sendable () -> Void
    ) {
        self.onStatus = onStatus
        self.onSilence = onSilence
        guard let socket = NetlinkSocket() else {
            state = Mutex(State(socket: nil))
            onSilence()
            return
        }
        state = Mutex(State(socket: socket))
        let source = ReadSource(of: socket, on: queue) { [weak self] in self?.receive() }
        state.withLock { $0.source = source }
        queue.async { [weak self] in self?.readLists() }
        queue.asyncAfter(deadline: .now() + 2) { onSilence() }
    }

    deinit {
        stop()
    }

    /// Stops observing and closes the socket.
    func stop() {
        state.withLock { state in
            state.source?.cancel()
            state.source = nil
            state.socket = nil
        }
    }

    // MARK: On the queue

    /// Requests the first list, unless the lists are being read.
    private func readLists() {
        state.withLock { state in
            guard state.list == nil else { return }
            state.table = NetlinkTable()
            (state.isOutdated, state.isRereadPlanned) = (false, false)
            state.ask(for: .links)
        }
    }

    private func receive() {
        guard let socket = state.withLock({ $0.socket }) else { return }
        // The source calls again if there is more, so that one call cannot take forever.
        for _ in 0..<64 {
            switch socket.receive() {
            case .nothing:
                return
            case .lost:
                noteChange()
            case .bytes(let bytes):
                for packet in NetlinkPacket.parse(bytes[...]) {
                    handle(packet, port: socket.port)
                }
            }
        }
    }

    private func handle(_ packet: NetlinkPacket, port: UInt32) {
        let step = state.withLock { state -> Step in
            guard let list = state.list, packet.port == port, packet.sequence == state.sequence else {
                return NetlinkTable.isOfInterest(packet.message) ? .noteChange : .none
            }
            if packet.isInterrupted {
                state.isOutdated = true
            }
            switch packet.message {
            case .done where list == .links:
                state.ask(for: .routes)
                return .none
            case .done:
                state.list = nil
                state.failures = 0
                return .publish(state.table)
            case .failure, .overrun:
                state.list = nil
                state.failures += 1
                // A system that refuses the lists every time is not asked again.
                return state.failures < Self.maximumFailures ? .noteChange : .none
            case let message:
                state.table.add(message)
                return .none
            }
        }
        switch step {
        case .none: break
        case .noteChange: noteChange()
        case .publish(let table): publish(table)
        }
    }

    private func publish(_ table: NetlinkTable) {
        onStatus(table.status(deviceType: Self.deviceType))
        if state.withLock({ $0.isOutdated }) {
            noteChange()
        }
    }

    /// Plans to read the lists again, once the lists that are being read are complete.
    private func noteChange() {
        let isFirst = state.withLock { state in
            state.isOutdated = true
            guard state.list == nil, !state.isRereadPlanned else { return false }
            state.isRereadPlanned = true
            return true
        }
        guard isFirst else { return }
        // Changes often come together, such as those of the addresses and routes of an interface, and need only one
        // reading.
        queue.asyncAfter(deadline: .now() + .milliseconds(20)) { [weak self] in self?.readLists() }
    }

    /// Returns the type of the device of an interface, such as `wlan`; `nil` for a plain one.
    private static func deviceType(of interface: String) -> String? {
        guard !interface.isEmpty, !interface.contains("/"), !interface.hasPrefix("."),
            let data = try? PrivateFile.read("/sys/class/net/\(interface)/uevent", upTo: 4_096)
        else { return nil }
        let lines = data.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        return lines.first { $0.hasPrefix("DEVTYPE=") }.map { String($0.dropFirst(8)) }
    }

    private enum Step {
        case none
        case noteChange
        case publish(NetlinkTable)
    }

    private struct State {
        var socket: NetlinkSocket?
        var source: ReadSource?
        var table = NetlinkTable()
        /// The list that is being read; the kernel sends one at a time.
        var list: NetlinkList?
        var sequence: UInt32 = 0
        /// Whether something has changed since the reading of the lists started.
        var isOutdated = false
        var isRereadPlanned = false
        /// The number of lists in a row that could not be read.
        var failures = 0

        init(socket: NetlinkSocket?) {
            self.socket = socket
        }

        mutating func ask(for list: NetlinkList) {
            sequence &+= 1
            self.list = list
            if socket?.send(NetlinkPacket.request(list, sequence: sequence)) != true {
                self.list = nil
            }
        }
    }
}

/// A dispatch source that calls a handler when a socket has messages.
// @unchecked, because a dispatch source may be used from any thread, which its declaration on Linux does not say.
private struct ReadSource: @unchecked Sendable {
    private let source: any DispatchSourceRead

    init(of socket: NetlinkSocket, on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
        source.setEventHandler(handler: handler)
        // The descriptor must stay open until the source has stopped watching it.
        source.setCancelHandler { socket.close() }
        source.activate()
    }

    func cancel() {
        source.cancel()
    }
}

/// A socket for messages about interfaces and routes, which never blocks.
private final class NetlinkSocket: Sendable {
    enum Received {
        case nothing
        /// Messages did not fit into the buffer of the socket.
        case lost
        case bytes([UInt8])
    }

    let descriptor: CInt
    /// The address of the socket, which the kernel repeats in its messages.
    let port: UInt32

    /// Opens a socket; `nil` if the system forbids it.
    init?() {
        let type = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, type, 0)
        guard descriptor >= 0 else { return nil }
        // RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE
        var address = NetlinkAddress(groups: 0x1 | 0x40 | 0x400)
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0,
            address.withPointer({ pointer, length in
                var length = length
                return getsockname(descriptor, pointer, &length)
            }) == 0
        else {
            CLibraryForNetworking.close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        port = address.port
    }

    func close() {
        CLibraryForNetworking.close(descriptor)
    }

    /// Sends a request to the kernel.
    ///
    /// - Returns: `true` if it was sent.
    func send(_ bytes: [UInt8]) -> Bool {
        var kernel = NetlinkAddress(groups: 0)
        return kernel.withPointer { address, length in
            bytes.withUnsafeBytes { sendto(descriptor, $0.baseAddress, $0.count, 0, address, length) == $0.count }
        }
    }

    func receive() -> Received {
        var sender = NetlinkAddress(groups: 0)
        var size = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            size = sender.withPointer { address, length in
                var length = length
                return recvfrom(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_TRUNC), address, &length)
            }
            count = max(0, min(size, buffer.count))
        }
        guard size >= 0 else {
            switch errno {
            case ENOBUFS: return .lost
            case EINTR: return .bytes([])
            default: return .nothing
            }
        }
        guard size <= bytes.count else { return .lost }
        // Another process may also send to the socket. The kernel has the port 0.
        return sender.port == 0 ? .bytes(bytes) : .bytes([])
    }
}

/// An address of a netlink socket (`sockaddr_nl`), which the module of the C library lacks.
private struct NetlinkAddress {
    private var family = UInt16(AF_NETLINK)
    private var padding: UInt16 = 0
    private(set) var port: UInt32 = 0
    private var groups: UInt32

    init(groups: UInt32) {
        self.groups = groups
    }

    mutating func withPointer<Result>(_ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result) -> Result {
        // In C, every kind of address is cast in this way. The length keeps the functions from using bytes beyond this
        // address.
        withUnsafeMutablePointer(to: &self) { pointer in
            body(
                UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<NetlinkAddress>.size)
            )
        }
    }
}
#endif
