" :compiler overtake, then :make ./program arguments: races become entries of the quickfix list.
if exists("current_compiler")
  finish
endif
let current_compiler = "overtake"

CompilerSet makeprg=overtake\ run\ -q\ --report\ github=-\ --
CompilerSet errorformat=::%trror\ title=%*[^\\,]\\,file=%f\\,line=%l\\,col=%c::%m,::%tarning\ title=%*[^\\,]\\,file=%f\\,line=%l\\,col=%c::%m,%-G%.%#
