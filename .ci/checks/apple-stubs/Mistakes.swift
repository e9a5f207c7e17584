// Mistakes that the check must find, with the compiler's error for each. The check fails if one of them compiles.

import Darwin
import FlyingSocks
import Foundation
import os

#if canImport(FoundationNetworking) || canImport(FoundationEssentials) || canImport(Glibc)
let linuxBranch: String = 1
#else
let appleBranch: String = 1  // expected-error {{cannot convert value of type 'Int' to specified type 'String'}}
#endif

#if canImport(Darwin)
let darwinBranch: String = 1  // expected-error {{cannot convert value of type 'Int' to specified type 'String'}}
#endif

/// A wrong label, a wrong type and a missing member, in Foundation and in a stub.
func misuse(_ session: URLSession, _ task: URLSessionTask) {
    _ = session.dataTask(for: URLRequest(url: URL(filePath: "/")))  // expected-error {{incorrect argument label}}
    _ = session.delegate?.urlSession(_:didReceive:handler:)  // expected-error {{has no member}}
    task.delegate = 1  // expected-error {{cannot assign value of type 'Int'}}
    _ = SocketPool<kQueue>.kQueue(maximumEvents: 1)  // expected-error {{incorrect argument label}}
    _ = BoolSocketOption.noSIGTERM  // expected-error {{has no member 'noSIGTERM'}}
    let text = "text"
    let logger = Logger(subsystem: "a", category: "b")
    logger.log(level: .info, text)  // expected-error {{cannot convert value of type 'String'}}
}
