import HTTPTypes
import Networking

/// What the parts of this package report to the listeners of a request.
extension HTTPRequestData {
    /// Reports the head of a response.
    func reportHead(_ head: HTTPResponse) {
        emit(.headReceived(head))
    }

    /// Reports the checksum of a response's body.
    func reportChecksum(_ checksum: Checksum32) {
        emit(.note("The body has the checksum \(checksum)."))
    }
}
