#if URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSessionConfiguration {
    /// A copy, whose changes do not reach the object of the caller.
    var copied: URLSessionConfiguration {
        guard let copy = copy() as? URLSessionConfiguration else {
            preconditionFailure("The copy of a URLSessionConfiguration is not a URLSessionConfiguration.")
        }
        return copy
    }
}
#endif
