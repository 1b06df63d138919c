//! The functions behind ours: what `dlsym` finds next.

use core::sync::atomic::{AtomicPtr, Ordering};

/// A function of libc that we interpose, looked up on first use.
pub(crate) struct Real {
    name: &'static core::ffi::CStr,
    address: AtomicPtr<core::ffi::c_void>,
}

impl Real {
    pub(crate) const fn new(name: &'static core::ffi::CStr) -> Real {
        Real { name, address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// The function's address; null if there is none.
    #[inline]
    pub(crate) fn address(&self) -> *mut core::ffi::c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.look_up() } else { address }
    }

    #[cold]
    fn look_up(&self) -> *mut core::ffi::c_void {
        // SAFETY: the name is zero-terminated.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Defines a call of the function behind ours: `real!(fn pthread_mutex_lock(mutex: *mut c_void) -> i32)`.
macro_rules! real {
    (fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?) => {{
        static REAL: $crate::libc_hooks::real::Real = $crate::libc_hooks::real::Real::new(
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name without zero bytes"),
            });
        // SAFETY: the type is that of libc's function of this name.
        let function: unsafe extern "C" fn($($type),*) $(-> $result)? = unsafe { core::mem::transmute(REAL.address()) };
        // SAFETY: our caller meant to call this function with these arguments.
        unsafe { function($($argument),*) }
    }};
}
pub(crate) use real;
